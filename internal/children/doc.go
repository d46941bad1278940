// Package children holds what the builders of an Echo's objects share: the Child type, labels, owner references and ports.
//
// Neither this package nor those below it send requests.
package children
