/** Dates by the patterns that dashboards use (`YYYY-MM-DD HH:mm`), in the browser's time. */

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const TOKENS =
  /\[([^\]]*)\]|\\(.)|S+|YYYY|YY|MMMM|MMM|MM|M|DDD|DD|Do|D|dddd|ddd|dd|d|HH|H|hh|h|mm|m|ss|s|A|a|ZZ|Z|X|x|LTS|LT|LLLL|LLL|LL|L|llll|lll|ll|l/g;

const LONG: Record<string, string> = {
  LTS: "h:mm:ss A",
  LT: "h:mm A",
  L: "MM/DD/YYYY",
  LL: "MMMM D, YYYY",
  LLL: "MMMM D, YYYY h:mm A",
  LLLL: "dddd, MMMM D, YYYY h:mm A",
  l: "M/D/YYYY",
  ll: "MMM D, YYYY",
  lll: "MMM D, YYYY h:mm A",
  llll: "ddd, MMM D, YYYY h:mm A",
};

/** A time in milliseconds since 1970 as a pattern writes it. */
export function datePattern(millis: number, pattern: string): string {
  const date = new Date(millis);
  if (Number.isNaN(date.getTime())) return "Invalid date";
  return pattern.replace(TOKENS, (token, quoted?: string, escaped?: string) => {
    if (quoted !== undefined) return quoted;
    if (escaped !== undefined) return escaped;
    const long = LONG[token];
    return long ? datePattern(millis, long) : written(token, date);
  });
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

function written(token: string, date: Date): string {
  const hour12 = ((date.getHours() + 11) % 12) + 1;
  switch (token) {
    case "YYYY":
      return String(date.getFullYear()).padStart(4, "0");
    case "YY":
      return two(date.getFullYear() % 100);
    case "MMMM":
      return MONTHS[date.getMonth()]!;
    case "MMM":
      return MONTHS[date.getMonth()]!.slice(0, 3);
    case "MM":
      return two(date.getMonth() + 1);
    case "M":
      return String(date.getMonth() + 1);
    case "DDD":
      return String(dayOfYear(date));
    case "DD":
      return two(date.getDate());
    case "Do":
      return ordinal(date.getDate());
    case "D":
      return String(date.getDate());
    case "dddd":
      return DAYS[date.getDay()]!;
    case "ddd":
      return DAYS[date.getDay()]!.slice(0, 3);
    case "dd":
      return DAYS[date.getDay()]!.slice(0, 2);
    case "d":
      return String(date.getDay());
    case "HH":
      return two(date.getHours());
    case "H":
      return String(date.getHours());
    case "hh":
      return two(hour12);
    case "h":
      return String(hour12);
    case "mm":
      return two(date.getMinutes());
    case "m":
      return String(date.getMinutes());
    case "ss":
      return two(date.getSeconds());
    case "s":
      return String(date.getSeconds());
    case "A":
      return date.getHours() < 12 ? "AM" : "PM";
    case "a":
      return date.getHours() < 12 ? "am" : "pm";
    case "Z":
      return offset(date, ":");
    case "ZZ":
      return offset(date, "");
    case "X":
      return String(Math.floor(date.getTime() / 1000));
    case "x":
      return String(date.getTime());
    default:
      // Parts of a second, as many digits as are written.
      return String(date.getMilliseconds()).padStart(3, "0").padEnd(9, "0").slice(0, token.length);
  }
}

function dayOfYear(date: Date): number {
  const first = new Date(date.getFullYear(), 0, 1);
  return (
    Math.round(
      (new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime() - first.getTime()) /
        86_400_000,
    ) + 1
  );
}

function ordinal(value: number): string {
  const isTeen = value % 100 >= 11 && value % 100 <= 13;
  return value + (isTeen ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th"));
}

function offset(date: Date, separator: string): string {
  const minutes = -date.getTimezoneOffset();
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}${separator}${two(size % 60)}`;
}
