// Package desired builds the objects that an Echo requires, from one table of kinds.
package desired
