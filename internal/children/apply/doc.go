// Package apply decides whether a live object differs from what is desired, as server-side apply does it: by the schema of its kind and
// its managed fields.
package apply
