// Package samples contains the examples of Echoes.
package samples

import "embed"

// Files contains the examples, a file each. A comment at the beginning of a file describes its example.
//
//go:embed v1_echo*.yaml
var Files embed.FS
