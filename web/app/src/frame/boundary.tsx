/** Keeps what goes wrong while a page is drawn to that page, and says what it was; `of` is its path. */
import { Component, type ComponentChildren } from "preact";
import { Empty } from "../ui/states";

interface BoundaryProps {
  of: string;
  children: ComponentChildren;
}

export class Boundary extends Component<BoundaryProps, { error?: Error }> {
  override state: { error?: Error } = {};

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidCatch(error: Error) {
    console.error(error);
  }

  override componentDidUpdate(before: BoundaryProps) {
    // What failed is another part of the page than the one that is wanted now.
    if (before.of !== this.props.of && this.state.error) this.setState({ error: undefined });
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <main class="page" id="main" tabIndex={-1}>
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
