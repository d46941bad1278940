// Package echopod builds the pods of Echoes and their companions, and recognizes both.
package echopod
