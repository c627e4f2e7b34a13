/** The beginning of the page. */
import { render } from "preact";
import { App } from "./app";
import { listenToKeys } from "./frame/keys";
import { listen, pagesAre } from "./frame/router";
import { routeOf } from "./pages";
import "uplot/dist/uPlot.min.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/ui.css";

pagesAre((path) => routeOf(path.split(/[?#]/)[0]!) !== undefined);
listen();
listenToKeys();
render(<App />, document.getElementById("app")!);
