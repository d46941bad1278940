// Package fact has the facts about the path: their names, their values, and texts that are safe to show.
package fact
