// Package desired builds the objects that an Echo requires. A table lists the kinds of these objects.
package desired
