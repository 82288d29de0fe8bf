"""`evenhand doctor`: what would stop a job, told before it waits in a queue; and what a job will take."""
