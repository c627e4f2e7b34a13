/** Asks for a token, wherever the server wants to know who asks and the browser has no other login. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../ui/button";
import { TextField } from "../ui/field";
import { Card } from "../ui/page";
import { ErrorBox } from "../ui/states";
import { ApiError, tryToken } from "./api";
import { enter, isSendable, type Login, login, logOut, token, typedToken } from "./token";

const WHY: Record<Login["why"], string> = {
  needed: "This server shows its data to those it knows.",
  refused: "The server does not take the token any more: it has run out, or was revoked.",
  chosen: "What is shown is what the token allows.",
};

export function LoginForm({ of: { why, takesTokens, takesPasswords } }: { of: Login }) {
  const cancel = () => {
    login.value = undefined;
  };
  return (
    <main class="page login">
      <Card title="Log in">
        <div class="stack">
          <p>{WHY[why]}</p>
          {takesTokens && <TokenForm onCancel={why === "chosen" ? cancel : undefined} />}
          {takesPasswords && (
            <div class="row">
              <Button kind={takesTokens ? "plain" : "primary"} onClick={logOut}>
                Log in with name and password
              </Button>
              <span class="muted">The browser asks for them.</span>
            </div>
          )}
        </div>
      </Card>
    </main>
  );
}

function TokenForm({ onCancel }: { onCancel?: () => void }) {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<Error>();
  const [isTrying, setTrying] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  const text = typedToken(typed);
  const submit = async () => {
    if (text === "" || isTrying) return;
    setTrying(true);
    setError(undefined);
    try {
      if (!isSendable(text)) throw new Error("a token is one word of plain letters, digits and signs");
      await tryToken(text);
      enter(text);
    } catch (error) {
      setError(wrong(error as Error));
      setTrying(false);
    }
  };
  return (
    <form
      ref={form}
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {error && <ErrorBox error={error} />}
      <div class="row login-row">
        <TextField label="Token" type="password" value={typed} onChange={setTyped} width="320px" />
        <Button kind="primary" disabled={text === "" || isTrying} onClick={() => void submit()}>
          Log in
        </Button>
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
      </div>
      <p class="muted">
        Whoever runs the server makes tokens: with <code>kymo token new</code>, or in Admin, Tokens. The token
        stays in this tab: loading the page again keeps it, closing the tab
        {token.value && ", or logging out,"} forgets it, and other tabs ask for it again.
      </p>
    </form>
  );
}

/** A wrong token is told in words for people. */
function wrong(error: Error): Error {
  if (!(error instanceof ApiError) || error.status !== 401) return error;
  return new Error("this token is not valid here: it may be mistyped, revoked, or run out");
}
