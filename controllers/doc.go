// Package controllers holds the code that the reconcilers share: it reads, writes, and deletes objects, reports failures, and keeps state
// between reconciles.
//
// Each reconciler is a package in a subdirectory. A reconcile can be interrupted at any point and repeated. Its outcome depends only on the
// objects that exist and, for deadlines and transitions, on the previous status. A reconciler remembers state only to avoid unnecessary
// requests. No decision depends on this memory. An error is classified once, and a transient error appears in the status only after two
// seconds.
package controllers
