// One chart of the console: ECharts as it ships with the framework, which is loaded after the page is shown, and only
// where there is a chart. The server describes a chart by ECharts options, with three additions:
//   "--name"       as any string: the colour of that token, of the theme that is on; drawn anew when the theme changes
//   renderItem     the name of one of RENDER
//   tip            of a datum: its lines in the tooltip, as text
// Methods for the toolbar: save(kind, name), zoom(factor).

const AXES = ["xAxis", "yAxis"];
const STEP = 1.4;

const line = (from, to, stroke) => ({
  type: "line",
  shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] },
  style: { stroke, lineWidth: 1.5 },
});

// a line with a cap at both ends, along x or y
function whisker(a, b, stroke, upright) {
  const cap = ([x, y]) => (upright ? line([x - 4, y], [x + 4, y], stroke) : line([x, y - 4], [x, y + 4], stroke));
  return [line(a, b, stroke), cap(a), cap(b)];
}

const RENDER = {
  // [place, low, high] beside the bar of a category
  interval: (stroke) => (params, api) => {
    const [place, low, high] = [api.value(0), api.value(1), api.value(2)];
    if (Number.isNaN(low) || Number.isNaN(high)) return null;
    const shift = (api.value(3) || 0) * 11;
    const [a, b] = [api.coord([low, place]), api.coord([high, place])];
    const moved = ([x, y]) => [x, y + shift];
    return { type: "group", silent: true, children: whisker(moved(a), moved(b), stroke, false) };
  },
  // [x, y, low x, high x, low y, high y] around a point
  cross: (stroke) => (params, api) => {
    const at = [0, 1, 2, 3, 4, 5].map((each) => api.value(each));
    const children = [];
    if (!Number.isNaN(at[2])) children.push(...whisker(api.coord([at[2], at[1]]), api.coord([at[3], at[1]]), stroke, false));
    if (!Number.isNaN(at[4])) children.push(...whisker(api.coord([at[0], at[4]]), api.coord([at[0], at[5]]), stroke, true));
    return { type: "group", silent: true, children };
  },
};

function tipOf(params) {
  const box = document.createElement("div");
  box.className = "chart-tip";
  for (const each of [params].flat()) {
    const tip = each.data?.tip;
    if (!tip) continue;
    [tip].flat().forEach((words, place) => {
      const part = document.createElement(place ? "div" : "b");
      part.textContent = words;
      box.appendChild(part);
    });
  }
  return box.childNodes.length ? box : "";
}

// the colour behind a token, as the browser computes it for this element
function painter(element) {
  const probe = document.createElement("span");
  probe.style.display = "none";
  element.appendChild(probe);
  const known = {};
  const paint = (token) => {
    if (!(token in known)) {
      probe.style.color = `var(${token})`;
      known[token] = getComputedStyle(probe).color;
    }
    return known[token];
  };
  return [paint, () => probe.remove()];
}

function resolve(value, paint) {
  if (typeof value === "string") return value.startsWith("--") ? paint(value) : value;
  if (Array.isArray(value)) return value.map((each) => resolve(each, paint));
  if (value === null || typeof value !== "object") return value;
  const made = {};
  for (const [key, each] of Object.entries(value)) {
    if (key === "renderItem") made[key] = RENDER[each](paint(each === "cross" ? "--soft" : "--ink"));
    else made[key] = key === "tip" || key === "name" || key === "data" && each?.every?.((v) => typeof v === "string")
      ? each : resolve(each, paint);
  }
  return made;
}

function axis(given, paint) {
  return {
    ...given,
    nameTextStyle: { color: paint("--soft"), fontSize: 12, ...given.nameTextStyle },
    axisLabel: { color: paint("--soft"), fontSize: 12, hideOverlap: true, ...given.axisLabel },
    axisLine: { show: given.type === "category", lineStyle: { color: paint("--line") }, ...given.axisLine },
    axisTick: { show: false, ...given.axisTick },
    splitLine: { show: given.type !== "category", lineStyle: { color: paint("--grid") }, ...given.splitLine },
  };
}

function themed(options, element, narrow) {
  const [paint, done] = painter(element);
  const font = getComputedStyle(element).fontFamily;
  const { phone, ...rest } = options;
  const made = resolve(merge(rest, narrow ? phone : null), paint);
  for (const name of AXES) if (made[name]) made[name] = [made[name]].flat().map((each) => axis(each, paint));
  made.textStyle = { color: paint("--ink"), fontFamily: font, fontSize: 12 };
  if (made.legend) made.legend = { textStyle: { color: paint("--ink"), fontSize: 12 }, pageTextStyle: { color: paint("--soft") },
    pageIconColor: paint("--main"), pageIconInactiveColor: paint("--line"), inactiveColor: paint("--soft"), ...made.legend };
  if (made.visualMap) made.visualMap.textStyle = { color: paint("--soft"), fontSize: 12 };
  made.tooltip = { confine: true, backgroundColor: paint("--bg"), borderColor: paint("--line"), padding: 10,
    textStyle: { color: paint("--ink") }, axisPointer: { shadowStyle: { color: paint("--mark-faint"), opacity: 0.6 },
    lineStyle: { color: paint("--soft") } }, formatter: tipOf, ...made.tooltip };
  const surface = paint("--bg");
  done();
  return [made, surface];
}

// what differs on a narrow screen, laid over the options; lists are laid over item by item
function merge(base, over) {
  if (over === null || over === undefined) return base;
  if (Array.isArray(base) && Array.isArray(over)) return base.map((each, place) => merge(each, over[place]));
  if (typeof base !== "object" || base === null || typeof over !== "object") return over;
  const made = { ...base };
  for (const [key, each] of Object.entries(over)) made[key] = merge(base[key], each);
  return made;
}

function download(href, name) {
  const anchor = document.createElement("a");
  anchor.href = href;
  anchor.download = name;
  document.body.appendChild(anchor);
  anchor.click();
  anchor.remove();
}

export default {
  template: `<div class="chart-picture" :class="{'chart-drawn': drawn}" role="img" tabindex="0" :aria-label="label"
    :style="{height: height + 'px', maxWidth: wide ? wide + 'px' : null}" @keydown="press" @blur="leave"></div>`,
  props: { options: Object, label: String, title: String, height: Number, wide: Number },
  data() {
    return { drawn: false };
  },
  async mounted() {
    const { echarts } = await import("nicegui-echart");
    if (!this.$el?.isConnected) return;
    this.echarts = echarts;
    this.chart = echarts.init(this.$el, null, { renderer: "svg" });
    this.at = -1;
    this.draw();
    this.sizes = new ResizeObserver(() => {
      const narrow = this.$el.offsetWidth < 480;
      this.chart.resize();
      if (narrow !== this.narrow) this.draw();
    });
    this.sizes.observe(this.$el);
    this.theme = new MutationObserver(() => {
      const now = document.body.classList.contains("body--dark");
      if (now !== this.dark) this.draw();
    });
    this.theme.observe(document.body, { attributes: true, attributeFilter: ["class"] });
  },
  beforeUnmount() {
    this.sizes?.disconnect();
    this.theme?.disconnect();
    this.chart?.dispose();
  },
  methods: {
    draw() {
      if (!this.chart) return;
      this.dark = document.body.classList.contains("body--dark");
      this.narrow = this.$el.offsetWidth < 480;
      const [made] = themed(this.options, this.$el, this.narrow);
      this.chart.setOption({ animation: false, ...made }, { notMerge: true });
      this.drawn = true;
    },
    update_chart() {  // the server has sent other options
      this.$nextTick(() => {
        this.chart?.resize();
        this.draw();
      });
    },
    // -- keyboard: arrows go from mark to mark, + and - zoom, 0 shows all again
    marks() {
      return this.options.series.flatMap((series, seriesIndex) =>
        (series.data ?? []).flatMap((each, dataIndex) => (each?.tip ? [{ seriesIndex, dataIndex, tip: each.tip }] : [])));
    },
    press(event) {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      if (event.key in steps) {
        const marks = this.marks();
        if (!marks.length) return;
        this.at = (this.at + steps[event.key] + marks.length + (this.at < 0 && steps[event.key] < 0 ? 1 : 0)) % marks.length;
        const { seriesIndex, dataIndex, tip } = marks[this.at];
        this.chart.dispatchAction({ type: "showTip", seriesIndex, dataIndex });
        const said = this.$el.parentElement.querySelector(".chart-said");
        if (said) said.textContent = [tip].flat().join(", ");
      } else if (event.key === "+" || event.key === "=") this.zoom(STEP);
      else if (event.key === "-") this.zoom(1 / STEP);
      else if (event.key === "0") this.zoom(0);
      else if (event.key === "Escape") this.leave();
      else return;
      event.preventDefault();
    },
    leave() {
      this.chart?.dispatchAction({ type: "hideTip" });
    },
    zoom(factor) {  // 0: all
      if (!this.chart) return;
      const now = this.chart.getOption();
      if (!factor) return this.draw();
      (now.dataZoom ?? []).forEach((each, dataZoomIndex) => {
        const middle = (each.start + each.end) / 2;
        const half = Math.min((each.end - each.start) / 2 / factor, 50);
        const start = Math.max(0, Math.min(middle - half, 100 - 2 * half));
        this.chart.dispatchAction({ type: "dataZoom", dataZoomIndex, start, end: start + 2 * half });
      });
    },
    save(kind, name) {
      if (!this.echarts) return;
      const [width, height, head] = [Math.max(this.$el.offsetWidth, 640), this.height, 34];
      const room = document.createElement("div");
      const [made, surface] = themed(this.options, this.$el, false);
      made.title = { text: this.title, left: 8, top: 6, textStyle: { color: made.textStyle.color, fontSize: 14 } };
      const lower = (each) => (typeof each.top === "number" ? { ...each, top: each.top + head } : each);
      for (const part of ["grid", "legend"]) if (made[part]) made[part] = Array.isArray(made[part]) ? made[part].map(lower) : lower(made[part]);
      made.series = made.series.map(lower);
      const chart = this.echarts.init(room, null, { renderer: kind === "svg" ? "svg" : "canvas", width, height: height + head });
      chart.setOption({ ...made, animation: false, backgroundColor: surface });
      if (kind === "svg") {
        const url = URL.createObjectURL(new Blob([chart.renderToSVGString()], { type: "image/svg+xml" }));
        download(url, `${name}.svg`);
        setTimeout(() => URL.revokeObjectURL(url), 10000);
      } else download(chart.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: surface }), `${name}.png`);
      chart.dispose();
    },
  },
};
