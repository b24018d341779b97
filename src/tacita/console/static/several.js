// A choice of several options. What is picked is shown, and built on, at once: the framework's own waits for the
// server, so that of two quick clicks the first would be lost.
export default {
  inheritAttrs: false,
  props: { options: Array, modelValue: Array },
  emits: ["update:model-value"],
  template: `
    <q-select ref="qRef" v-bind="$attrs" :options="options" :model-value="chosen" @update:model-value="take"
      @popup-show="scroll(true)" @popup-hide="scroll(false)">
      <template v-for="(_, slot) in $slots" v-slot:[slot]="props"><slot :name="slot" v-bind="props || {}" /></template>
    </q-select>
  `,
  data() {
    return { chosen: this.modelValue ?? [] };
  },
  watch: {
    // the server has set another value
    modelValue(now) {
      this.chosen = now ?? [];
    },
  },
  methods: {
    take(now) {
      this.chosen = now ?? [];
      this.$emit("update:model-value", now);
    },
    // as the framework's own choice does, so that the page stays where it is
    async scroll(open) {
      if (!open) await this.$nextTick();
      document.documentElement.classList.toggle("nicegui-select-popup-open", open);
    },
  },
};
