// How the page is built: names of files that never change (the server puts a hash before them), paths
// relative to the page, and a file that names what is embedded of others.
import preact from "@preact/preset-vite";
import { defineConfig } from "vite";

/** A server to ask while the page is being written: `KYMO_SERVER=http://127.0.0.1:3200 npx vite`. */
const server = process.env.KYMO_SERVER ?? "http://127.0.0.1:3200";
const asked = ["/api", "/tempo", "/jaeger", "/prometheus", "/loki", "/v1", "/s/"];

/** `ci-run` of `src/pages/ci/run.tsx`: two pages of the same name in different folders stay apart. */
function chunkName(module: string | null): string | undefined {
  const path = module?.split("/src/")[1]?.replace(/^pages\//, "").replace(/(\/index)?\.tsx?$/, "");
  return path?.replaceAll("/", "-");
}

export default defineConfig({
  base: "./",
  plugins: [preact()],
  build: {
    outDir: "../../crates/web/dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    license: { fileName: "licenses.md" },
    rolldownOptions: {
      output: {
        entryFileNames: "app.js",
        chunkFileNames: (chunk) => `${chunkName(chunk.facadeModuleId) ?? "[name]"}.js`,
        assetFileNames: "[name][extname]",
      },
    },
  },
  server: {
    proxy: Object.fromEntries(asked.map((path) => [path, { target: server, ws: true }])),
  },
});
