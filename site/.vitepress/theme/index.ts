import { nextTick, onMounted, watch } from 'vue'
import { useData, useRoute, type Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import './tables.css'

// draw replaces the diagrams on a page, which are Mermaid code, by pictures in light or dark colors.
async function draw(isDark: boolean) {
  await nextTick()
  const diagrams = document.querySelectorAll<HTMLElement>('pre.mermaid')
  if (diagrams.length) {
    const { default: mermaid } = await import('mermaid')
    for (const diagram of diagrams) {
      diagram.textContent = diagram.dataset.code ??= diagram.textContent ?? ''
      diagram.removeAttribute('data-processed') // Mermaid would skip it
    }
    mermaid.initialize({ startOnLoad: false, theme: isDark ? 'dark' : 'neutral' })
    await mermaid.run({ nodes: diagrams })
  }
}

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute()
    const { isDark } = useData()
    onMounted(() => draw(isDark.value))
    watch(() => [route.path, isDark.value], () => draw(isDark.value))
  },
} satisfies Theme
