// Package fact defines the facts about a path: their names, their values, and text that is safe to display.
package probe
