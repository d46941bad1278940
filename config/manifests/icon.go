// Package manifests contains the icon of the operator.
package manifests

import _ "embed"

// Icon is the operator's icon, an SVG image.
//
//go:embed icon.svg
var Icon string
