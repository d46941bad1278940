import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type DefaultTheme } from 'vitepress'

const docs = join(import.meta.dirname, '../../docs')
const repository = 'https://github.com/echo-operator/echo-operator'

// The directories of docs/, in the order in which a new reader needs them.
const sections = {
  tutorials: 'Tutorials',
  'how-to': 'How-to guides',
  reference: 'Reference',
  explanation: 'Explanation',
  runbooks: 'Runbooks',
  decisions: 'Decision records',
  contributing: 'Contributing',
}

const index = readFileSync(join(docs, 'README.md'), 'utf8')

// place is the position of a page in the index. A page that the index does not name comes last.
const place = (folder: string, file: string) => index.indexOf(`(${folder}/${file})`) >>> 0

// pages returns the links to the pages in a directory, with their headings as names, in the order of the index.
function pages(folder: string): DefaultTheme.SidebarItem[] {
  return readdirSync(join(docs, folder))
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .sort((a, b) => place(folder, a) - place(folder, b))
    .map((file) => ({
      text: readFileSync(join(docs, folder, file), 'utf8').match(/^# (.+)$/m)![1].replaceAll('`', ''),
      link: `/${folder}/${file.replace(/\.md$/, '')}`,
    }))
}

const sidebar = Object.entries(sections).map(([folder, text], i) => ({ text, collapsed: i > 3, items: pages(folder) }))

// target returns the target of a link on a page: another page, or a file in the repository.
function target(href: string, page: string): string {
  if (/^[a-z]+:|^#/.test(href)) {
    return href
  }
  const path = new URL(href, `file:///docs/${page}`)
  if (path.pathname.startsWith('/docs/') && /(\.md|\/|\.png|\.svg)$/.test(path.pathname)) {
    return href.replace(/README\.md$/, 'index.md')
  }
  return `${repository}/blob/main${path.pathname}${path.hash}`
}

export default defineConfig({
  srcDir: '../docs',
  title: 'Echo Operator',
  description: 'Runs HTTP echo servers on Kubernetes and OpenShift',
  base: process.env.SITE_BASE ?? '/',
  ignoreDeadLinks: 'localhostLinks',
  rewrites: { 'README.md': 'index.md', 'decisions/README.md': 'decisions/index.md' },
  markdown: {
    // The same anchors as on GitHub, because messages and runbooks link to them.
    anchor: { slugify: (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-') },
    html: false, // words such as <name> are text
    config(md) {
      // Without HTML, comments and line breaks in cells would be text.
      md.core.ruler.before('normalize', 'comments', (state) => {
        state.src = state.src.replace(/^ *<!-- .* -->$/gm, '')
      })
      const { text, code_inline, fence } = md.renderer.rules
      md.renderer.rules.fence = (tokens, i, ...rest) =>
        tokens[i].info === 'mermaid' ? `<pre class="mermaid" v-pre>${md.utils.escapeHtml(tokens[i].content)}</pre>` : fence!(tokens, i, ...rest)
      md.renderer.rules.text = (...args) => text!(...args).replaceAll('&lt;br /&gt;', '<br>')
      // Lines do not break inside the names and flags that tables.css finds by these classes.
      const name = (word: string) => `<span class="name${word.length > 16 ? ' long' : ''}">${word}</span>`
      md.renderer.rules.code_inline = (...args) => code_inline!(...args).replace(/(?<=[> ])[^<> ]{1,28}(?=[< ])/g, name)
      md.core.ruler.push('targets', (state) => {
        for (const token of state.tokens.flatMap((t) => t.children ?? [])) {
          const href = token.type === 'link_open' && token.attrGet('href')
          if (href) {
            token.attrSet('href', target(href, state.env.relativePath))
          }
        }
      })
    },
  },
  // The pages are outside the directory that contains the modules.
  vite: {
    resolve: {
      alias: [{ find: /^vue(\/server-renderer)?$/, replacement: join(import.meta.dirname, '../node_modules/vue$1') }],
    },
  },
  themeConfig: {
    nav: [
      { text: 'Tutorials', link: sidebar[0].items[0].link },
      { text: 'Reference', link: '/reference/echo' },
      { text: 'GitHub', link: repository },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    editLink: {
      // The browser also runs this function, without its context. `:path` would be the path of the rewritten page.
      pattern: ({ filePath }) => `https://github.com/echo-operator/echo-operator/edit/main/docs/${filePath}`,
      text: 'Edit this page',
    },
    socialLinks: [{ icon: 'github', link: repository }],
  },
})
