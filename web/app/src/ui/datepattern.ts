/**
 * Dates by the patterns that dashboards use (`YYYY-MM-DD HH:mm`), as the server writes them: its tokens are in
 * `crates/dash/src/fields/units/date`.
 */

/** What a clock somewhere shows. */
export interface Clock {
  /** How far it is before UTC at a time, in milliseconds. */
  offsetAt: (millis: number) => number;
  /** Its zone; nothing for the browser's. */
  zone?: string;
}

export const BROWSER_CLOCK: Clock = { offsetAt: (millis) => -new Date(millis).getTimezoneOffset() * 60_000 };

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

/** Longer ones before those that they begin with. */
const TOKENS =
  /\[([^\]]*)\]|\\(.)|S+|YYYYYY|YYYY|YY|Qo|Q|MMMM|MMM|MM|Mo|M|DDDD|DDDo|DDD|DD|Do|D|dddd|ddd|dd|do|d|E|e|WW|Wo|W|ww|w|GGGG|gggg|HH|H|hh|h|kk|k|mm|m|ss|s|A|a|ZZ|Z|zz|z|X|x|LTS|LT|LLLL|LLL|LL|L|llll|lll|ll|l/g;

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

/** A time in milliseconds since 1970 as a pattern writes it, on a clock. */
export function datePattern(millis: number, pattern: string, clock: Clock = BROWSER_CLOCK): string {
  if (Number.isNaN(new Date(millis).getTime())) return "Invalid date";
  const moment = momentOf(millis, clock);
  const write = (part: string): string =>
    part.replace(TOKENS, (token, quoted?: string, escaped?: string) => {
      if (quoted !== undefined) return quoted;
      if (escaped !== undefined) return escaped;
      const long = LONG[token];
      return long ? write(long) : written(token, moment);
    });
  return write(pattern);
}

/** A time, and what the clock shows at it. */
interface Moment {
  millis: number;
  clock: Clock;
  offsetMinutes: number;
  /** Its members for UTC are those of the clock: no hour of it is left out or there twice. */
  shown: Date;
}

function momentOf(millis: number, clock: Clock): Moment {
  const offset = clock.offsetAt(millis);
  return { millis, clock, offsetMinutes: Math.trunc(offset / 60_000), shown: new Date(millis + offset) };
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

function written(token: string, moment: Moment): string {
  const { shown, millis } = moment;
  const [year, month, day] = [shown.getUTCFullYear(), shown.getUTCMonth(), shown.getUTCDate()];
  const [hour, weekday] = [shown.getUTCHours(), shown.getUTCDay()];
  const hour12 = ((hour + 11) % 12) + 1;
  const hour24 = ((hour + 23) % 24) + 1;
  switch (token) {
    case "YYYYYY":
      return `${year < 0 ? "-" : "+"}${String(Math.abs(year)).padStart(6, "0")}`;
    case "YYYY":
      return String(year).padStart(4, "0");
    case "YY":
      return two(((year % 100) + 100) % 100);
    case "Q":
      return String(Math.floor(month / 3) + 1);
    case "Qo":
      return ordinal(Math.floor(month / 3) + 1);
    case "MMMM":
      return MONTHS[month]!;
    case "MMM":
      return MONTHS[month]!.slice(0, 3);
    case "MM":
      return two(month + 1);
    case "Mo":
      return ordinal(month + 1);
    case "M":
      return String(month + 1);
    case "DDDD":
      return String(dayOfYear(shown)).padStart(3, "0");
    case "DDDo":
      return ordinal(dayOfYear(shown));
    case "DDD":
      return String(dayOfYear(shown));
    case "DD":
      return two(day);
    case "Do":
      return ordinal(day);
    case "D":
      return String(day);
    case "dddd":
      return DAYS[weekday]!;
    case "ddd":
      return DAYS[weekday]!.slice(0, 3);
    case "dd":
      return DAYS[weekday]!.slice(0, 2);
    case "do":
      return ordinal(weekday);
    case "d":
    case "e":
      return String(weekday);
    case "E":
      return String(weekday || 7);
    case "WW":
    case "ww":
      return two(isoWeek(shown).week);
    case "Wo":
      return ordinal(isoWeek(shown).week);
    case "W":
    case "w":
      return String(isoWeek(shown).week);
    case "GGGG":
    case "gggg":
      return String(isoWeek(shown).year).padStart(4, "0");
    case "HH":
      return two(hour);
    case "H":
      return String(hour);
    case "hh":
      return two(hour12);
    case "h":
      return String(hour12);
    case "kk":
      return two(hour24);
    case "k":
      return String(hour24);
    case "mm":
      return two(shown.getUTCMinutes());
    case "m":
      return String(shown.getUTCMinutes());
    case "ss":
      return two(shown.getUTCSeconds());
    case "s":
      return String(shown.getUTCSeconds());
    case "A":
      return hour < 12 ? "AM" : "PM";
    case "a":
      return hour < 12 ? "am" : "pm";
    case "Z":
      return offset(moment.offsetMinutes, ":");
    case "ZZ":
      return offset(moment.offsetMinutes, "");
    case "z":
    case "zz":
      return zoneName(moment);
    case "X":
      return String(Math.floor(millis / 1000));
    case "x":
      return String(Math.floor(millis));
    default:
      // Parts of a second, as many digits as are written.
      return String(shown.getUTCMilliseconds()).padStart(3, "0").padEnd(9, "0").slice(0, token.length);
  }
}

const DAY_MILLIS = 86_400_000;

function dayOfYear(shown: Date): number {
  const day = Date.UTC(shown.getUTCFullYear(), shown.getUTCMonth(), shown.getUTCDate());
  return Math.round((day - Date.UTC(shown.getUTCFullYear(), 0, 1)) / DAY_MILLIS) + 1;
}

/** The week by ISO 8601, and the year that it belongs to: that of its Thursday. */
function isoWeek(shown: Date): { week: number; year: number } {
  const thursday = new Date(shown.getTime() + (4 - (shown.getUTCDay() || 7)) * DAY_MILLIS);
  return { week: Math.ceil(dayOfYear(thursday) / 7), year: thursday.getUTCFullYear() };
}

/** A number in a row: `1st`, `12th`. */
export function ordinal(value: number): string {
  const isTeen = value % 100 >= 11 && value % 100 <= 13;
  return value + (isTeen ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th"));
}

function offset(minutes: number, separator: string): string {
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}${separator}${two(size % 60)}`;
}

/** Browsers know the short name of a zone in the language of its people only. */
const NAMING_LOCALES = ["en-US", "en-GB", "en-AU", "en-IN"];

/** The name of a zone, as `CET`; that of one without a name is its offset, as in the database of zones. */
function zoneName({ millis, clock, offsetMinutes }: Moment): string {
  for (const locale of NAMING_LOCALES) {
    const format = new Intl.DateTimeFormat(locale, { timeZone: clock.zone, timeZoneName: "short" });
    const name = format.formatToParts(millis).find(({ type }) => type === "timeZoneName")?.value;
    if (name && !/^(GMT|UTC)[+-]/.test(name)) return name;
  }
  return offset(offsetMinutes, "").replace(/00$/, "");
}
