##@ Documentation

# The site's modules, which are installed again when the lock file changes. Their scripts do not run.
site/node_modules/.package-lock.json: site/package-lock.json
	@tools/make/require npm nodejs npm
	@tools/make/retry npm --prefix site ci --ignore-scripts --no-audit --no-fund

.PHONY: docs-site docs-serve
docs-site: site/node_modules/.package-lock.json ## Build the documentation as a site in site/.vitepress/dist, and fail if a link is dead. Requires npm.
	@SITE_BASE=$(SITE_BASE) npm --prefix site run build
docs-serve: site/node_modules/.package-lock.json ## Serve the documentation on 127.0.0.1, and show edits immediately. Requires npm.
	@npm --prefix site run dev
