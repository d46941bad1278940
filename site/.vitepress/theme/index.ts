import { nextTick, onMounted, watch } from 'vue'
import { useRoute, type Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import './tables.css'

// draw replaces the diagrams on a page, which are Mermaid code, by pictures.
async function draw() {
  await nextTick()
  if (document.querySelector('pre.mermaid')) {
    const { default: mermaid } = await import('mermaid')
    mermaid.initialize({ startOnLoad: false, theme: document.documentElement.classList.contains('dark') ? 'dark' : 'neutral' })
    await mermaid.run({ querySelector: 'pre.mermaid' })
  }
}

export default {
  extends: DefaultTheme,
  setup() {
    onMounted(draw)
    const route = useRoute()
    watch(() => route.path, draw)
  },
} satisfies Theme
