// Package controllers holds what the reconcilers share: they read, write and delete objects, report failures, and remember.
//
// Each reconciler is a package below. A reconcile can be interrupted at any point and repeated: it depends on the objects that exist, and
// on the previous status for deadlines and transitions. What a reconciler remembers saves requests, and no decision depends on it. An
// error is classified once, and a transient one appears in the status only after two seconds.
package controllers
