// Package apply compares live objects with desired objects, following the rules of server-side apply.
package apply
