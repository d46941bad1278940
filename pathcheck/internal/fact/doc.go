// Package fact defines the facts about a path: their names, their values, and texts that are safe to display.
package fact
