/**
 * Files that the server makes. They are asked for as everything else is, with the token and the tenant, which
 * a link cannot carry.
 */
import { save } from "../ui/save";
import { ask } from "./api";

/** Asks for a file, and hands it to the browser. */
export async function download(path: string, name: string, init: RequestInit = {}): Promise<void> {
  const response = await ask(path, init);
  save(name, response.headers.get("Content-Type") ?? "", await response.blob());
}
