/**
 * Home: how to send until something has come, and then what goes on. It flips by itself; with `send` in the
 * address, how to send stays.
 */
import { getJson } from "../../frame/api";
import { param } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { PageBody } from "../../ui/page";
import { Answer } from "../../ui/states";
import { FirstRun } from "./first";
import "./home.css";
import { Overview } from "./overview";
import { type Start, useRates } from "./start";

export default function Page() {
  const asked = useAsk((signal) => getJson<Start>("/api/start", {}, signal), []);
  const heard = useRates();
  const start = asked.data;
  if (!start)
    return (
      <PageBody title="Home">
        <Answer of={asked}>{() => null}</Answer>
      </PageBody>
    );
  const hasData = heard.at(-1)?.has_data ?? start.has_data;
  return hasData && param("send") !== "1" ? (
    <Overview start={start} heard={heard} />
  ) : (
    <FirstRun start={start} rates={heard.at(-1)} hasData={hasData} />
  );
}
