// How the page is built: names of files that never change (the server puts a hash before them), paths
// relative to the page, and a file that names what is embedded of others.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import preact from "@preact/preset-vite";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** A server to ask while the page is being written: `KYMO_SERVER=http://127.0.0.1:3200 npx vite`. */
const server = process.env.KYMO_SERVER ?? "http://127.0.0.1:3200";
const asked = ["/api", "/tempo", "/jaeger", "/prometheus", "/loki", "/v1", "/s/"];

/** `ci-run` of `src/pages/ci/run.tsx`: two pages of the same name in different folders stay apart. */
function chunkName(module: string | null): string | undefined {
  const path = module
    ?.split("/src/")[1]
    ?.replace(/^pages\//, "")
    .replace(/(\/index)?\.tsx?$/, "");
  return path?.replaceAll("/", "-");
}

/** Writes the paths of pages for the server, which has to know them: `routes.txt`. */
function routes(): Plugin {
  return {
    name: "routes",
    generateBundle() {
      const text = readFileSync(new URL("./src/pages/index.ts", import.meta.url), "utf8");
      const list = text.slice(text.indexOf("ROUTES"), text.indexOf("RAIL"));
      const paths = [...list.matchAll(/path: "([^"]+)"/g)].map(([, path]) => path);
      this.emitFile({ type: "asset", fileName: "routes.txt", source: `${paths.join("\n")}\n` });
    },
  };
}

/** Licences that what is embedded may have: those that cargo's dependencies may have, and BlueOak's, which
 * allows what MIT's does. */
const ALLOWED = ["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "BlueOak-1.0.0"];

/** Whether a licence, or one of those to choose from, is allowed. */
function isAllowed(licence: string): boolean {
  return licence
    .replace(/^\((.*)\)$/, "$1")
    .split(" OR ")
    .some((one) => ALLOWED.includes(one));
}

/** Fails on a licence that is not allowed, and adds the text of Apache's where a package names it only. */
function licences(): Plugin {
  return {
    name: "licences",
    apply: "build",
    enforce: "post",
    writeBundle({ dir }) {
      const path = join(dir ?? "", "licenses.md");
      const apache = readFileSync(new URL("../../LICENSE", import.meta.url), "utf8").trimEnd();
      const [head = "", ...packages] = readFileSync(path, "utf8").split(/^(?=## \S+ - \S+ \(.+\)$)/m);
      const told = packages.map((section) => {
        const [title = "", ...text] = section.trim().split("\n");
        const licence = /\((.+)\)$/.exec(title)?.[1] ?? "";
        if (!isAllowed(licence)) throw new Error(`${title.slice(3)}: this licence is not among those allowed`);
        if (text.join("").trim() !== "") return section;
        if (licence !== "Apache-2.0") throw new Error(`${title.slice(3)}: it has no text of its licence`);
        return `${title}\n\n${apache}\n\n`;
      });
      writeFileSync(path, head + told.join(""));
    },
  };
}

/** Says where the page lives, as the server does, so that pages with deep paths work while it is written. */
function base(): Plugin {
  return {
    name: "base",
    apply: "serve",
    transformIndexHtml: () => [{ tag: "base", attrs: { href: "/" }, injectTo: "head-prepend" }],
  };
}

export default defineConfig({
  base: "./",
  plugins: [preact(), routes(), base(), licences()],
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
  test: { include: ["tests/**/*.test.ts"] },
  server: {
    proxy: Object.fromEntries(asked.map((path) => [path, { target: server, ws: true }])),
  },
});
