/** Being written. */
import { PageBody } from "../../ui/page";

export default function Page() {
  return <PageBody title="Being written">{null}</PageBody>;
}
