// The positions of names: names with a tie attract each other, and all names repel each other.
const STEPS = 160;

export function place(count, ties, width, height) {
  const points = Array.from({ length: count }, (_, index) => {
    const turn = index * 2.39996;
    const far = Math.sqrt((index + 0.5) / count);
    return { x: Math.cos(turn) * far, y: Math.sin(turn) * far };
  });
  const apart = 0.9 / Math.sqrt(count);
  for (let step = 0; step < STEPS; step += 1) move(points, ties, apart, 0.08 * (1 - step / STEPS));
  return fit(points, width, height);
}

function move(points, ties, apart, heat) {
  const pushes = points.map(({ x, y }) => ({ x: -x * 0.4, y: -y * 0.4 }));
  const push = (a, b, force) => {
    const [x, y] = [points[a].x - points[b].x || 0.01, points[a].y - points[b].y || 0.01];
    const far = Math.hypot(x, y);
    const by = force(far) / far;
    pushes[a].x += x * by;
    pushes[a].y += y * by;
    pushes[b].x -= x * by;
    pushes[b].y -= y * by;
  };
  for (let a = 0; a < points.length; a += 1) {
    for (let b = a + 1; b < points.length; b += 1) push(a, b, (far) => (apart * apart) / far);
  }
  for (const tie of ties) push(tie.first, tie.second, (far) => -(far * far) / (4 * apart));
  points.forEach((one, index) => {
    const { x, y } = pushes[index];
    const by = Math.min(heat, Math.hypot(x, y)) / (Math.hypot(x, y) || 1);
    one.x += x * by;
    one.y += y * by;
  });
}

// Scales positions to the picture, with margins for points, and for their words at the sides and below.
function fit(points, width, height) {
  const scale = (axis, size, edge, end = edge) => {
    const all = points.map((one) => one[axis]);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const wide = high - low;
    return (value) => (wide < 1e-6 ? size / 2 : edge + ((value - low) / wide) * (size - edge - end));
  };
  const [x, y] = [scale("x", width, Math.min(80, width / 6)), scale("y", height, 24, 46)];
  return points.map((one) => ({ x: x(one.x), y: y(one.y) }));
}
