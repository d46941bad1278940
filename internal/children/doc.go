// Package children holds what the builders of an Echo's objects share: the type Child, labels, owner references, ports, and the
// configuration that comes from the operator. Nothing here and below does I/O.
package children
