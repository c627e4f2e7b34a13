/** A short link: asks what it stands for, and goes there. */
import { useEffect } from "preact/hooks";
import { getJson } from "../../frame/api";
import { navigate } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { PageBody } from "../../ui/page";
import { Answer } from "../../ui/states";
import type { PageProps } from "..";

export default function Short({ params }: PageProps) {
  const code = params.code!;
  const asked = useAsk(
    (signal) => getJson<{ path: string }>(`/api/links/${encodeURIComponent(code)}`, {}, signal),
    [code],
  );
  const path = asked.data?.path;
  useEffect(() => {
    if (path !== undefined) navigate(path, { replace: true });
  }, [path]);
  return (
    <PageBody title="Short link">
      <Answer of={asked}>{() => null}</Answer>
    </PageBody>
  );
}
