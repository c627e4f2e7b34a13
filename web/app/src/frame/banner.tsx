/** That the server does not answer, and when it is looked for next. */
import { useEffect, useState } from "preact/hooks";
import { Button } from "../ui/button";
import { Icon } from "../ui/icon";
import { connection, look } from "./connection";

export function Banner() {
  const { lost, retryAt } = connection.value;
  if (!lost) return null;
  return (
    <div class="banner">
      <Icon name="warning" />
      <span role="status">The server does not answer. What is shown stays.</span>
      <Countdown key={retryAt} to={retryAt ?? 0} />
      <Button kind="quiet" onClick={() => void look()}>
        Look now
      </Button>
    </div>
  );
}

function Countdown({ to }: { to: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.round((to - now) / 1000);
  return <span>{seconds > 0 ? `It is looked for again in ${seconds} s.` : "It is being looked for."}</span>;
}
