/** Asks for a token where the server wants one and the browser has no other login. */
import { useState } from "preact/hooks";
import { ApiError, token } from "../../frame/api";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { Card } from "../../ui/page";
import { ErrorBox } from "../../ui/states";

/** Whether an error says that somebody else may. */
export function isRefused(error: Error | undefined): error is ApiError {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

export function Login({ error }: { error: ApiError }) {
  const [typed, setTyped] = useState("");
  const wasTried = token.peek() !== "" || error.status === 403;
  const enter = () => {
    token.value = typed.trim();
    setTyped("");
  };
  return (
    <Card title="Log in">
      {wasTried && <ErrorBox error={error} />}
      <p class="muted">
        This is for admins of the whole server. The token stays in this tab and is gone with it.
      </p>
      <div class="row">
        <TextField label="Token" type="password" value={typed} onChange={setTyped} onEnter={enter} />
        <Button kind="primary" disabled={typed.trim() === ""} onClick={enter}>
          Log in
        </Button>
      </div>
    </Card>
  );
}
