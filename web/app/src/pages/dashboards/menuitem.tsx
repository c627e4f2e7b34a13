/** A line of a menu: it closes the menu and does something. */
import { Icon, type IconName } from "../../ui/icon";

/** What makes the lines of a menu that `close` closes. */
export function menuItems(close: () => void) {
  return (icon: IconName, label: string, run: () => void, isOff = false) => (
    <button
      type="button"
      class="menu-item"
      disabled={isOff}
      onClick={() => {
        close();
        run();
      }}
    >
      <Icon name={icon} size={14} /> {label}
    </button>
  );
}
