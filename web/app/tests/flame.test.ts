/** Flames: what is too narrow to be drawn, what is below the pointer, and nodes that are found again. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { pathOf } from "../src/pages/traces/flamepaths";
import { eachSeen, type FlameBoxes, hitAt, type Strip } from "../src/ui/canvas/flamegeometry";
import { type FlameNode, pathIds } from "../src/ui/canvas/flamenodes";
import { readPart, writePart } from "../src/ui/canvas/window";

const WIDTH = 1000;

/** A root over all of the time, and children that begin there and take so long. */
function below(length: number, children: readonly (readonly [from: number, nanos: number])[]): FlameBoxes {
  const count = children.length + 1;
  const subtree = new Uint32Array(count).fill(1);
  subtree[0] = count;
  return {
    count,
    from: [0, ...children.map(([from]) => from)],
    to: [length, ...children.map(([from, nanos]) => from + nanos)],
    depth: [0, ...children.map(() => 1)],
    subtree,
    length,
    depths: 2,
  };
}

function seen(boxes: FlameBoxes, from = 0, to = boxes.length) {
  const drawn: number[] = [];
  const strips: Strip[] = [];
  eachSeen(
    boxes,
    { from, to },
    WIDTH,
    9,
    (box) => drawn.push(box),
    (strip) => strips.push(strip),
  );
  return { drawn, strips };
}

describe("boxes that are too narrow to be drawn", () => {
  const many = below(
    100_000,
    Array.from({ length: 50_000 }, (_, at) => [at * 2, 1] as const),
  );

  it("are one strip where they stand beside each other", () => {
    const { drawn, strips } = seen(many);
    expect(drawn).toEqual([0]);
    expect(strips).toHaveLength(1);
    expect(strips[0]).toMatchObject({ depth: 1, first: 1, boxes: 50_000, below: 0 });
    expect(strips[0]!.left).toBe(0);
    expect(strips[0]!.right).toBeCloseTo(WIDTH, 1);
  });

  it("are drawn one by one when the window is closer", () => {
    const { drawn, strips } = seen(many, 100, 120);
    expect(strips).toEqual([]);
    expect(drawn).toEqual([0, ...Array.from({ length: 11 }, (_, at) => 51 + at)]);
  });

  it("are strips of their own on either side of a box that is drawn, and of an empty place", () => {
    const { drawn, strips } = seen(
      below(1000, [
        [10, 0.1],
        [10.5, 0.1],
        [11, 5],
        [16.5, 0.1],
        [500, 0],
      ]),
    );
    expect(drawn).toEqual([0, 3]);
    expect(strips.map(({ first, boxes }) => [first, boxes])).toEqual([
      [1, 2],
      [4, 1],
      [5, 1],
    ]);
  });

  it("count what is below them", () => {
    const boxes: FlameBoxes = {
      count: 4,
      from: [0, 10, 10, 10.2],
      to: [1000, 10.1, 10.05, 10.3],
      depth: [0, 1, 2, 1],
      subtree: [4, 2, 1, 1],
      length: 1000,
      depths: 3,
    };
    expect(seen(boxes).strips).toMatchObject([{ depth: 1, first: 1, boxes: 2, below: 1 }]);
  });
});

describe("what is below the pointer", () => {
  const whole = { from: 0, to: 1000 };
  const boxes = below(1000, [
    [10, 0.1],
    [10.5, 0.1],
    [11, 5],
    [500, 0],
  ]);

  it("is a box, a strip of several, or the only one that is too narrow", () => {
    expect(hitAt(boxes, whole, WIDTH, 13, 1)).toEqual({ box: 3 });
    expect(hitAt(boxes, whole, WIDTH, 10.3, 1)).toMatchObject({ box: 1, strip: { boxes: 2 } });
    expect(hitAt(boxes, whole, WIDTH, 500.5, 1)).toEqual({ box: 4 });
    expect(hitAt(boxes, whole, WIDTH, 300, 1)).toBeUndefined();
    expect(hitAt(boxes, whole, WIDTH, 300, 0)).toEqual({ box: 0 });
  });

  it("is nothing of an answer that is gone", () => {
    const fewer = below(1000, []);
    expect(hitAt(fewer, whole, WIDTH, 13, 1)).toBeUndefined();
    expect(hitAt(below(0, []), { from: 0, to: 1 }, WIDTH, 900, 1)).toBeUndefined();
  });
});

describe("a node of a merged flame", () => {
  const node = (parent: number, name: string, service = "shop") => ({ parent, name, service }) as FlameNode;
  const nodes = [node(-1, "GET"), node(0, "load"), node(1, "GET"), node(0, "GET"), node(-1, "PUT")];

  it("is found again by its way in another answer", () => {
    const later = [node(-1, "PUT"), node(-1, "GET"), node(1, "GET"), node(1, "load"), node(3, "GET")];
    expect(nodes.map((_, at) => pathIds(later).indexOf(pathIds(nodes)[at]!))).toEqual([1, 3, 4, 2, 0]);
  });

  it("is not found where there is none of its names", () => {
    expect(pathIds([node(-1, "GET", "till")])).not.toContain(pathIds(nodes)[0]);
  });
});

describe("a path in words", () => {
  const chain = (length: number, name: (at: number) => string) =>
    Array.from({ length }, (_, at) => ({ parent: at - 1, name: name(at), service: "s" }) as FlameNode);

  it("has the last names of many, and the beginning of long ones", () => {
    expect(pathOf(chain(3, String), 2)).toBe("0 / 1 / 2");
    expect(pathOf(chain(8, String), 7)).toBe("0 / 1 / 2 / 3 / 4 / 5 / 6 / 7");
    expect(pathOf(chain(10_000, String), 9999)).toMatch(/^… \/ 9992 \/ .* \/ 9999$/);
    expect(
      pathOf(
        chain(1, () => "x".repeat(10_000)),
        0,
      ),
    ).toHaveLength(201);
  });
});

describe("the part that is looked at", () => {
  it("is in the address however narrow it is", () => {
    const length = 2e12;
    for (const width of [10, 1000, 2e6]) {
      const window = { from: 1e12 + 3, to: 1e12 + 3 + width };
      const read = readPart(writePart(window, length), length);
      expect(Math.abs(read.from - window.from)).toBeLessThan(1);
      expect(Math.abs(read.to - window.to)).toBeLessThan(1);
    }
  });
});
