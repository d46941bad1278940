// Package children holds what the builders of an Echo's objects share: the type Child, labels, owner references and ports.
//
// Nothing here and below sends requests.
package children
