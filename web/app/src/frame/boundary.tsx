/** Keeps what goes wrong while a page is drawn to that page, and says what it was. */
import { Component, type ComponentChildren } from "preact";
import { Empty } from "../ui/states";

export class Boundary extends Component<{ children: ComponentChildren }, { error?: Error }> {
  override state: { error?: Error } = {};

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidCatch(error: Error) {
    console.error(error);
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <main class="page" id="main">
        <Empty title="This page has failed">
          <p>{this.state.error.message}</p>
          <button type="button" class="button" onClick={() => this.setState({ error: undefined })}>
            Try again
          </button>
        </Empty>
      </main>
    );
  }
}
