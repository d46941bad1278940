// Package desired builds the objects that an Echo requires. Table lists the kinds of these objects.
package objects
