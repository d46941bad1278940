// Package echopod builds and recognizes the pods of Echoes and their companions.
package objects
