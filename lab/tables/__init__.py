"""The tables and plots of each paper, from results files to Markdown and SVG."""
