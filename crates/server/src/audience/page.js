// Flags of the audience, listed and changed over the API that kymo audience uses too.
//
// Texts of the server are shown as text, never as HTML. A change sends what differs from what was
// shown and nothing else, so that two admins do not undo each other's work. A token that was typed in
// is kept in this variable alone.
'use strict';

const API = '../api/audience/';
const find = (id) => document.getElementById(id);

let token = '';
/** The flag that is edited, as it was got; null if it is a new one. */
let edited = null;
/** What gets the focus back when the editor closes. */
let opener = null;

/** An answer that is no success. */
class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(method, path, body) {
  const headers = { Accept: 'application/json' };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const options = { method, headers, cache: 'no-store', credentials: 'same-origin' };
  if (body !== undefined) options.body = JSON.stringify(body);
  let response;
  try {
    response = await fetch(API + path, options);
  } catch {
    throw new Refused(0, 'The server cannot be reached. Is it running, and is the network there?');
  }
  const text = await response.text();
  let answer = null;
  try {
    answer = text ? JSON.parse(text) : null;
  } catch {
    if (response.ok) throw new Refused(0, 'This is not the answer of a Kymograph server.');
  }
  if (!response.ok) {
    throw new Refused(response.status, answer?.error ?? `The server answers ${response.status}.`);
  }
  return answer;
}

function say(id, text) {
  const place = find(id);
  place.textContent = text;
  place.hidden = !text;
}

/** Shows why the page cannot do its work, and what helps. */
function fail(error) {
  say('message', '');
  const isOther = error.status !== 401 && error.status !== 403;
  if (!isOther) find('content').hidden = true;
  find('login').hidden = isOther;
  if (error.status === 401) {
    say('failure', token ? `The token was not accepted: ${error.message}` : '');
    token = '';
    find('token').focus();
  } else if (error.status === 403) {
    say('failure', `You are not an admin of this server, so flags are not shown: ${error.message}`);
    token = '';
  } else {
    say('failure', error.message);
  }
}

/** An element with a text or with other elements in it. */
function make(name, ...children) {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

function counted(count, one, many) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** Who is recorded by a flag, in words. */
function whom(flag) {
  if (flag.mode !== 'selected') return flag.mode === 'nobody' ? 'Nobody' : 'Everybody';
  const parts = [];
  if (flag.users.length) parts.push(counted(flag.users.length, 'user', 'users'));
  if (flag.percentage > 0) parts.push(`${flag.percentage} %`);
  if (flag.regex) parts.push(`names like ${flag.regex}`);
  const unknown = flag.unknown === 'everybody' ? 'recorded' : 'not recorded';
  return `Selected: ${parts.join(', ') || 'no user yet'}. Unknown users: ${unknown}`;
}

function when(millis) {
  const time = make('time', new Date(millis).toLocaleString());
  time.dateTime = new Date(millis).toISOString();
  return time;
}

function flagRow(flag) {
  const key = make('td', make('code', flag.key));
  if (!flag.enabled) key.append(make('small', 'not enabled: decides nothing'));
  if (flag.description) key.append(make('small', flag.description));
  const about = make('td', flag.signals.join(', '));
  if (flag.where) about.append(make('small', make('code', flag.where)));
  about.append(make('small', `user: ${flag.attributes.join(', ')}`));
  const changed = make('td', when(flag.updated_at_millis), make('small', `by ${flag.updated_by}`));
  const button = make('button', 'Edit', make('span', ` ${flag.key}`));
  button.type = 'button';
  button.lastChild.className = 'unseen';
  button.addEventListener('click', () => open(flag, button));
  const row = make('tr', key, make('td', whom(flag)), about, changed, make('td', button));
  if (!flag.enabled) row.className = 'off';
  return row;
}

function shown(value) {
  if (value === null || value === undefined || value === '') return 'none';
  return Array.isArray(value) ? value.join(', ') || 'none' : String(value);
}

/** What an entry of the audit says of users: who came and who went. */
function userLines(entry) {
  const line = (sign, fields) => {
    const names = fields?.users ?? [];
    if (!names.length) return [];
    const left = fields.users_left_out ? ` and ${fields.users_left_out} more` : '';
    return [make('div', `users: ${sign} ${names.join(', ')}${left}`)];
  };
  return [...line('+', entry.after), ...line('−', entry.before)];
}

function auditRow(entry) {
  const what = make('td', entry.action);
  const fields = Object.keys(entry.after ?? {}).filter((name) => !name.startsWith('users'));
  if (entry.action !== 'delete') {
    for (const name of fields) {
      const after = shown(entry.after[name]);
      const before = entry.before ? `${shown(entry.before[name])} → ` : '';
      // Of a new flag, what it does not have is of no interest.
      if (before || after !== 'none') what.append(make('div', `${name}: ${before}${after}`));
    }
    what.append(...userLines(entry));
  }
  const [at, by] = [make('td', when(entry.at_millis)), make('td', entry.by)];
  return make('tr', at, by, make('td', make('code', entry.key)), what);
}

function fillTable(name, rows) {
  find(name).replaceChildren(...rows);
  find(`${name}-table`).hidden = !rows.length;
  find(`no-${name}`).hidden = rows.length > 0;
}

async function load() {
  try {
    // One after the other: a wrong token is one failed login, not two.
    const { flags } = await ask('GET', 'flags');
    const { audit } = await ask('GET', 'audit');
    fillTable('flags', flags.map(flagRow));
    fillTable('audit', audit.map(auditRow));
    find('content').hidden = false;
    find('login').hidden = true;
    say('failure', '');
    return true;
  } catch (error) {
    fail(error);
    return false;
  }
}

const SIGNALS = ['traces', 'metrics', 'logs'];
const MODES = ['nobody', 'everybody', 'selected'];

/** Opens the editor on a flag, or on a new one. */
function open(flag, by) {
  edited = flag;
  opener = by;
  find('editor-title').textContent = flag ? `Edit ${flag.key}` : 'New flag';
  find('key-field').hidden = Boolean(flag);
  find('key').value = flag?.key ?? '';
  find('key').disabled = Boolean(flag);
  for (const mode of MODES) find(`mode-${mode}`).checked = mode === (flag?.mode ?? 'nobody');
  find('users').value = (flag?.users ?? []).join('\n');
  find('percentage').value = flag?.percentage ?? 0;
  find('regex').value = flag?.regex ?? '';
  find('unknown-default').hidden = Boolean(flag);
  find('unknown-default').disabled = Boolean(flag);
  find('unknown').value = flag?.unknown ?? '';
  find('attributes').value = (flag?.attributes ?? []).join('\n');
  for (const signal of SIGNALS) {
    find(`signal-${signal}`).checked = flag ? flag.signals.includes(signal) : true;
  }
  find('where').value = flag?.where ?? '';
  find('description').value = flag?.description ?? '';
  find('enabled').checked = flag?.enabled ?? true;
  find('delete').hidden = !flag;
  find('more').open = false;
  say('wrong', '');
  say('message', '');
  showSelected();
  find('editor').hidden = false;
  find('editor-title').focus();
  find('editor').scrollIntoView({ block: 'nearest' });
}

function close() {
  find('editor').hidden = true;
  edited = null;
  // A row that was drawn anew has another button.
  (opener?.isConnected ? opener : find('new')).focus();
}

function showSelected() {
  find('selected').hidden = !find('mode-selected').checked;
  // What nobody sees is not checked by the browser.
  find('selected').disabled = find('selected').hidden;
}

function lines(id) {
  const all = find(id).value.split('\n').map((line) => line.trim());
  return [...new Set(all.filter((line) => line))];
}

/** What the form says. */
function said() {
  return {
    mode: MODES.find((mode) => find(`mode-${mode}`).checked),
    users: lines('users'),
    percentage: Number(find('percentage').value || 0),
    regex: find('regex').value || null,
    unknown: find('unknown').value,
    attributes: lines('attributes'),
    signals: SIGNALS.filter((signal) => find(`signal-${signal}`).checked),
    where: find('where').value.trim() || null,
    description: find('description').value,
    enabled: find('enabled').checked,
  };
}

/** A new flag: what is left open is left to the configuration. */
function created(form) {
  const flag = { key: find('key').value.trim(), ...form };
  if (!flag.unknown) delete flag.unknown;
  if (!flag.attributes.length) delete flag.attributes;
  return flag;
}

/** What differs from the flag as it was got; users one by one. */
function changed(form) {
  const change = {};
  for (const [name, value] of Object.entries(form)) {
    if (name === 'users') continue;
    if (JSON.stringify(value) !== JSON.stringify(edited[name])) change[name] = value;
  }
  // Names stay as they are unless somebody typed there.
  if (find('users').value === edited.users.join('\n')) return change;
  const [before, after] = [new Set(edited.users), new Set(form.users)];
  const added = form.users.filter((user) => !before.has(user));
  const removed = edited.users.filter((user) => !after.has(user));
  if (added.length) change.add_users = added;
  if (removed.length) change.remove_users = removed;
  return change;
}

/** Does something that changes flags, and shows what came of it. */
async function change(work, done) {
  say('wrong', '');
  const buttons = find('editor').querySelectorAll('button');
  buttons.forEach((button) => { button.disabled = true; });
  try {
    await work();
    if (await load()) {
      close();
      say('message', done);
    }
  } catch (error) {
    if (error.status === 401 || error.status === 403) fail(error);
    else say('wrong', error.message);
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
}

find('login').addEventListener('submit', (event) => {
  event.preventDefault();
  token = find('token').value.trim();
  find('token').value = '';
  load();
});
find('new').addEventListener('click', (event) => open(null, event.currentTarget));
find('cancel').addEventListener('click', close);
for (const mode of MODES) find(`mode-${mode}`).addEventListener('change', showSelected);

find('editor').addEventListener('submit', (event) => {
  event.preventDefault();
  const form = said();
  if (edited) {
    const path = `flags/${encodeURIComponent(edited.key)}`;
    const done = `${edited.key} is saved and in force.`;
    change(() => ask('PATCH', path, changed(form)), done);
  } else {
    const flag = created(form);
    change(() => ask('POST', 'flags', flag), `${flag.key} is made and in force.`);
  }
});

find('delete').addEventListener('click', () => {
  find('confirm-what').textContent = edited.key;
  find('confirm').returnValue = '';
  find('confirm').showModal();
});
find('confirm').addEventListener('close', () => {
  if (find('confirm').returnValue !== 'delete') return;
  const { key } = edited;
  const path = `flags/${encodeURIComponent(key)}`;
  change(() => ask('DELETE', path), `${key} is deleted: it keeps nobody out any more.`);
});

load();
