/**
 * A long list of things of any height: pieces of it that are far out of sight are not in the document, only
 * their height is. What is in sight, and what was never measured near it, is drawn.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface ChunksProps<Item> {
  items: readonly Item[];
  itemKey: (item: Item) => string;
  children: (item: Item, index: number) => ComponentChildren;
  /** How high an item is before anybody has seen it. */
  guess: number;
  /** Pieces are counted from the end, so that what is added at the beginning leaves them as they are. */
  fromEnd?: boolean;
}

const SIZE = 40;

export function Chunks<Item>({ items, itemKey, children, guess, fromEnd }: ChunksProps<Item>) {
  const bounds: [number, number][] = [];
  const lead = fromEnd ? items.length % SIZE : 0;
  if (lead > 0) bounds.push([0, lead]);
  for (let at = lead; at < items.length; at += SIZE) bounds.push([at, Math.min(items.length, at + SIZE)]);
  return (
    <>
      {bounds.map(([from, to], number) => {
        const id = fromEnd ? bounds.length - number : number;
        return (
          <Chunk key={id} guess={(to - from) * guess} isFirst={number < 2}>
            {() =>
              items.slice(from, to).map((item, at) => (
                <div key={itemKey(item)} role="listitem">
                  {children(item, from + at)}
                </div>
              ))
            }
          </Chunk>
        );
      })}
    </>
  );
}

function Chunk({
  children,
  guess,
  isFirst,
}: {
  children: () => ComponentChildren;
  guess: number;
  isFirst: boolean;
}) {
  const root = useRef<HTMLDivElement>(null);
  const height = useRef(guess);
  const [isNear, setNear] = useState(isFirst);
  useEffect(() => {
    const element = root.current!;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry) return;
        if (!entry.isIntersecting && element.offsetHeight > 0) height.current = element.offsetHeight;
        setNear(entry.isIntersecting);
      },
      { rootMargin: "900px 0px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={root} style={isNear ? undefined : { height: height.current }}>
      {isNear && children()}
    </div>
  );
}
