// Package apply compares live objects with desired objects, following the rules of server-side apply.
//
// The schema of a kind defines the keys for merging list items, and which lists and maps are set as a whole. The managed fields of an
// object define which fields the operator owns.
package apply
