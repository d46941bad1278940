// Package apply compares live objects with desired objects in the same manner as server-side apply.
//
// The schema of a kind defines by which keys list items are merged, and which lists and maps are set as a whole. The managed fields of an
// object define which fields the operator owns.
package apply
