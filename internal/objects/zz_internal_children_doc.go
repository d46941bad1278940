// Package children contains code that the builders of an Echo's objects share: the Child type, labels, owner references, and ports.
//
// Neither this package nor its subpackages send requests.
package objects
