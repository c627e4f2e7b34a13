/** GPUs of all hosts. */
import { FleetPage } from "./index";

export default function Gpus() {
  return <FleetPage of="gpu" />;
}
